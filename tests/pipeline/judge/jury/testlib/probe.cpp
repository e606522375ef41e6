// Does what its second argument says, in the role that the first one names.
#include "testlib.h"
#include <bits/stdc++.h>
using namespace std;

template <typename T> void show(const T &value) { cout << "[" << value << "]"; }

void perform(InStream &in, const vector<string> &words)
{
    const string &what = words[0];
    const auto arg = [&](size_t i) { return i < words.size() ? words[i] : string(); };
    const auto num = [&](size_t i) { return atoll(arg(i).c_str()); };
    const auto real = [&](size_t i) { return atof(arg(i).c_str()); };
    const bool plain = words.size() == 1;
    if (what == "int")
        show(plain ? in.readInt() : in.readInt(int(num(1)), int(num(2)), arg(3)));
    else if (what == "integer")
        show(plain ? in.readInteger() : in.readInteger(int(num(1)), int(num(2)), arg(3)));
    else if (what == "long")
        show(plain ? in.readLong() : in.readLong(num(1), num(2), arg(3)));
    else if (what == "ulong")
        show(plain ? in.readUnsignedLong()
                   : in.readUnsignedLong((unsigned long long)num(1), (unsigned long long)num(2),
                                         arg(3)));
    else if (what == "double")
        show(plain ? in.readDouble() : in.readDouble(real(1), real(2), arg(3)));
    else if (what == "real")
        show(plain ? in.readReal() : in.readReal(real(1), real(2), arg(3)));
    else if (what == "strict")
        show(in.readStrictDouble(real(1), real(2), int(num(3)), int(num(4)), arg(5)));
    else if (what == "token")
        show(plain ? in.readToken() : in.readToken(arg(1), arg(2)));
    else if (what == "word")
        show(plain ? in.readWord() : in.readWord(pattern(arg(1)), arg(2)));
    else if (what == "line")
        show(plain ? in.readLine() : in.readLine(arg(1), arg(2)));
    else if (what == "string")
        show(plain ? in.readString() : in.readString(arg(1), arg(2)));
    else if (what == "ints")
        show(join(words.size() == 2
                      ? in.readInts(int(num(1)))
                      : in.readInts(int(num(1)), int(num(2)), int(num(3)), arg(4)),
                  ','));
    else if (what == "longs")
        show(join(in.readLongs(int(num(1)), num(2), num(3), arg(4)), ','));
    else if (what == "doubles")
        show(join(in.readDoubles(int(num(1)), real(2), real(3), arg(4)), ','));
    else if (what == "tokens")
        show(join(words.size() == 2 ? in.readTokens(int(num(1)))
                                    : in.readTokens(int(num(1)), arg(2), arg(3)),
                  ','));
    else if (what == "lines")
        show(join(words.size() == 2 ? in.readLines(int(num(1)))
                                    : in.readLines(int(num(1)), arg(2), arg(3)),
                  ','));
    else if (what == "char")
        show(plain ? in.readChar() : in.readChar(arg(1)[0]));
    else if (what == "space")
        in.readSpace();
    else if (what == "unread")
        in.unreadChar(arg(1)[0]);
    else if (what == "skip")
        in.skipChar();
    else if (what == "blanks")
        in.skipBlanks();
    else if (what == "eoln?")
        show(in.eoln());
    else if (what == "eof?")
        show(in.eof());
    else if (what == "seekeoln?")
        show(in.seekEoln());
    else if (what == "seekeof?")
        show(in.seekEof());
    else if (what == "eoln")
        in.readEoln();
    else if (what == "eof")
        in.readEof();
    else if (what == "reset")
        in.reset();
    else if (what == "case")
        setTestCase(int(num(1)));
    else if (what == "ok")
        quitf(_ok, "fine %s", arg(1).c_str());
    else if (what == "wa")
        quitf(_wa, "bad %s", arg(1).c_str());
    else if (what == "pe")
        quit(_pe, "odd");
    else if (what == "fail")
        quit(_fail, string("ours"));
    else if (what == "dirt")
        quit(_dirt, "dirty");
    else if (what == "pc")
        quitf(_pc(int(num(1))), "half");
    else if (what == "points")
        quitp(real(1), "got %d", 7);
    else if (what == "intpoints")
        quitp(5);
    else if (what == "info")
        quitpi("12", "said %s", "so");
    else if (what == "inwa")
        in.quitf(_wa, "of the stream");
    else if (what == "quitif")
        quitif(num(1) > 0, _wa, "since %s", arg(1).c_str());
    else if (what == "ensure")
        ensure(num(1) > 0);
    else if (what == "ensuref")
        ensuref(num(1) > 0, "not %d", int(num(1)));
    else if (what == "testset")
        show(testlibMode == _validator ? validator.testset() + "/" + validator.group()
                                       : checker.testset() + "/" + checker.group());
    else if (what == "tout")
        tout << "left" << endl;
    else if (what == "say")
        cout << arg(1) << "\n"; // not flushed
    else if (what == "match")
        show(pattern(arg(1)).matches(arg(2)));
    else if (what == "compare")
        show(doubleCompare(real(1), real(2), real(3)));
    else if (what == "delta")
        show(doubleDelta(real(1), real(2)));
    else if (what == "ending")
        show(englishEnding(int(num(1))));
    else if (what == "compress")
        show(compress(string(size_t(num(1)), 'x')));
    else if (what == "texts")
        show(trim(" a b \n") + "|" + upperCase("aB") + lowerCase("aB") + "|" +
             join(split("a,,b", ','), ';') + "|" + join(tokenize("a,,b", ','), ';') + "|" +
             vtos(12) + toString(1.5) + format("%03d%s", 7, "z") + format(string("%d"), 8));
    else if (what == "parse") {
        show(stringToLongLong(in, arg(1).c_str()));
        show(stringToDouble(in, arg(2)));
    } else if (what == "text")
        show(InStream(in, "12 x").readInt());
    else
        quitf(_fail, "no such thing: %s", what.c_str());
}

int main(int argc, char *argv[])
{
    const string role = argv[1];
    if (role == "checker" || role == "input" || role == "answer")
        registerTestlibCmd(argc - 2, argv + 2);
    else if (role == "interactor")
        registerInteraction(argc - 2, argv + 2);
    else
        registerValidation(argc - 2, argv + 2);
    InStream &in = role == "validator" || role == "input" ? inf : role == "answer" ? ans : ouf;
    for (const string &step : split(argv[2], ';'))
        perform(in, split(step, '~'));
    return 0;
}
