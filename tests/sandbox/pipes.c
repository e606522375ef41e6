/* Prints the size of a new pipe; with an argument, takes all pages that its user may have in pipes
 * first, and keeps them until stdin ends. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define USUAL_BYTES (1 << 16)

int main(int argc, char **argv)
{
    int ends[2];
    (void)argv;
    while (argc > 1 && pipe(ends) == 0 && fcntl(ends[0], F_GETPIPE_SZ) >= USUAL_BYTES)
        ;
    if (pipe(ends))
        return 1;
    printf("%d\n", fcntl(ends[0], F_GETPIPE_SZ));
    fflush(stdout);
    if (argc > 1)
        while (read(0, ends, sizeof ends) > 0)
            ;
}
