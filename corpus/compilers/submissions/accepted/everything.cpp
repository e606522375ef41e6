#include <bits/stdc++.h>
using namespace std;

int main() {
    vector<int> numbers;
    copy(istream_iterator<int>(cin), {}, back_inserter(numbers));
    ranges::copy(numbers, ostream_iterator<int>(cout, "\n"));
}
