#include <math.h>
#include <stdio.h>

int main(void) {
    double x;
    scanf("%lf", &x);
    printf("%.6f\n", sqrt(x));
    return 0;
}
