#include <stdio.h>

int main(void) {
    int dark = 0, longest = 0;
    for (int second = getchar(); second == '.' || second == '#'; second = getchar()) {
        dark = second == '.' ? dark + 1 : 0;
        if (dark > longest) longest = dark;
    }
    printf("%d\n", longest);
    return 0;
}
