int main(void) {
    *(volatile int *)8 = 1;
    return 0;
}
