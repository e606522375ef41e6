// A generator: what its option `-what` names.
#include "testlib.h"
#include <algorithm>
#include <vector>

using namespace std;

int main(int argc, char *argv[])
{
    registerGen(argc, argv, 1);
    const string what = opt<string>("what");
    const int n = opt<int>("n", 20);
    if (what == "ints") {
        vector<int> values;
        for (int i = 0; i < n; i++)
            values.push_back(rnd.next(-3, 3));
        println(values);
    } else if (what == "bounds") {
        for (int i = 0; i < n; i++) {
            ensure(rnd.next(5) >= 0 && rnd.next(5) < 5);
            ensure(rnd.next(7u) < 7 && rnd.next(1000000000000LL) < 1000000000000LL);
            long long wide = rnd.next(-4000000000000000000LL, 4000000000000000000LL);
            ensure(wide >= -4000000000000000000LL && wide <= 4000000000000000000LL);
            ensure(rnd.next() >= 0 && rnd.next() < 1);
            ensure(rnd.next(1.5, 2.5) >= 1.5 && rnd.next(2.0) < 2);
            ensure(rnd.wnext(10, 3) < 10 && rnd.wnext(5, 9, -40) >= 5 &&
                   rnd.wnext(5, 9, 40) <= 9);
            ensure(pattern("[a-c]{2,4}|x(yz)?").matches(rnd.next("[a-c]{2,4}|x(yz)?")));
            ensure(rnd.next("[0-9]{%d}", 6).size() == 6);
        }
        println("fine");
    } else if (what == "perm") {
        vector<int> p = rnd.perm(n, 1);
        println(p.begin(), p.end());
        sort(p.begin(), p.end());
        for (int i = 0; i < n; i++)
            ensure(p[size_t(i)] == i + 1);
        ensure(rnd.perm(3).size() == 3);
    } else if (what == "distinct") {
        vector<int> d = rnd.distinct(n, 1, n);
        sort(d.begin(), d.end());
        println(d);
        vector<int> parts = rnd.partition(4, 20, 2);
        int sum = 0;
        for (int part : parts) {
            ensure(part >= 2);
            sum += part;
        }
        println(sum, "of", 20, rnd.distinct(3, 10).size());
    } else if (what == "weights") {
        long long low = 0, even = 0, high = 0;
        for (int i = 0; i < 1000; i++)
            low += rnd.wnext(1000, -5), even += rnd.next(1000), high += rnd.wnext(1000, 5);
        println(low < even, even < high);
    } else if (what == "any") {
        vector<string> words = {"a", "b"};
        string s = rnd.any(words) + rnd.any(string("xy"));
        shuffle(words.begin(), words.end());
        println(s.size(), words);
    } else if (what == "opts") {
        println(opt<double>("d"), opt<bool>("flag"), opt<bool>("other"), opt("s", "none"));
        println(opt<long long>("big"), opt<int>("k"), has_opt("k"), opts<int>("list"), opt(1));
    }
    return 0;
}
