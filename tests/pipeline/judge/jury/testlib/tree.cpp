// A validator of trees.
#include "testlib.h"
#include <numeric>
#include <vector>

int main(int argc, char *argv[])
{
    registerValidation(argc, argv);
    int n = inf.readInt(1, validator.group() == "small" ? 10 : 200000, "n");
    inf.readEoln();
    std::vector<int> root(size_t(n) + 1);
    std::iota(root.begin(), root.end(), 0);
    auto find = [&](int v) {
        while (root[size_t(v)] != v)
            v = root[size_t(v)] = root[size_t(root[size_t(v)])];
        return v;
    };
    for (int i = 1; i < n; i++) {
        int u = inf.readInt(1, n, "u");
        inf.readSpace();
        int v = inf.readInt(1, n, "v");
        inf.readEoln();
        ensuref(find(u) != find(v), "edge %d closes a cycle", i);
        root[size_t(find(u))] = find(v);
    }
    inf.readToken("[a-z]{1,5}|-", "name");
    inf.readEoln();
    inf.readEof();
    return 0;
}
