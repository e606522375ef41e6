/* Rules: X1 X7
 * Attack: allocates huge pages, which no memory limit counts.
 * Expect: ok
 */
#include "attack.h"

int main(void)
{
    start();
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
    must_fail(mmap(NULL, 2 << 20, PROT_WRITE, flags, -1, 0) == MAP_FAILED ? -1 : 0, ENOMEM);
    must_fail(memfd_create("huge", MFD_HUGETLB), EINVAL);
    must_work(memfd_create("plain", 0));
    return held();
}
