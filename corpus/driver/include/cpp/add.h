long long add(int a, int b);
