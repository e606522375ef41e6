#include <stdio.h>

int main(void) {
    puts("\xff\xfe\x80 \xc0\xaf");
    return 0;
}
