/* Reads from a pipe whose other end it holds itself. */
#include <unistd.h>

int main(void) {
    int ends[2];
    char byte;
    pipe(ends);
    return (int)read(ends[0], &byte, 1);
}
