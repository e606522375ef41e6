/* Reads and writes a byte at a time. */
#include <stdio.h>
#include <unistd.h>

int main(void) {
    int low = 1, high = 1000;
    for (;;) {
        char text[16], answer[16] = "";
        int guess = (low + high) / 2, length = sprintf(text, "%d\n", guess);
        for (int i = 0; i < length; i++) write(1, text + i, 1);
        for (int i = 0; i < 15 && read(0, answer + i, 1) == 1 && answer[i] != '\n'; i++);
        if (answer[0] == 'c') return 0;
        if (answer[0] == 'l') high = guess - 1;
        if (answer[0] == 'h') low = guess + 1;
    }
}
