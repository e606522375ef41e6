/* Rules: X2 X7
 * Attack: changes its test data, and keeps it open in children after its end.
 * Data: yes
 * Expect: ok
 * Without SECCOMP: ok
 * Without PID: ok
 * Without ALL: ok
 */
#include "attack.h"

#define NO EROFS, EACCES, EPERM, EBUSY, EXDEV

static void keep(void)
{
    setsid();
    must_work(chdir("/data"));
    must_work(open("/data", O_RDONLY | O_DIRECTORY));
    must_work(open("secret", O_RDONLY));
    sleep_forever();
}

int main(void)
{
    start();
    int secret = open("/data/secret", O_RDONLY);
    must_work(secret);
    must_fail(open("/data/secret", O_WRONLY), NO);
    must_fail(open("/proc/self/fd/3", O_RDWR), NO);
    must_fail(truncate("/data/secret", 0), NO);
    must_fail(chmod("/data/secret", 0777), NO);
    must_fail(fchmod(secret, 0777), NO);
    must_fail(unlink("/data/secret"), NO);
    must_fail(rename("/data/secret", "/work/taken"), NO);
    must_fail(link("/data/secret", "/work/taken"), NO);
    must_fail(mkdir("/data/planted", 0777), NO);
    must_fail(rmdir("/data"), NO);
    must_fail(rename("/data", "/work/data"), NO);
    int access = PROT_READ | PROT_EXEC;
    must_fail((long)mmap(NULL, 1, access, MAP_PRIVATE, secret, 0), EPERM);
    must_fail((long)mmap(NULL, 1, PROT_WRITE, MAP_SHARED, secret, 0), EACCES);
    for (int i = 0; i < 3; i++)
        in_child(keep);
    must_work(symlink("/data/secret", "/work/link"));
    return held();
}
