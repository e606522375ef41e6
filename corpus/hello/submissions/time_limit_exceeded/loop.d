void main()
{
    for (;;) {}
}
