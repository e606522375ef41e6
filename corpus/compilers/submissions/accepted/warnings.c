/* Many warnings are no error. */
#pragma message "on and on"
#pragma message "on and on"
#warning "take care"
main() {
    int n;
    scanf("%d", &n);
    printf("%d\n", n, n);
    return 0;
}
