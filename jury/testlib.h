// Lets checkers, interactors, validators and generators run here that were written for testlib
// and bring no testlib.h of their own. A package's own always goes before this one.
//
// Written anew, from what testlib is documented to do. What is meant to be the same: names,
// parameters, when a stream is strict, exit codes and the first words on stderr. What differs:
//   - `rnd` gives the same numbers for the same arguments, but not those of testlib: tests that
//     are generated anew are others;
//   - patterns are regular expressions in full: `{3,}` is three or more, `[0-9]*0` matches 10;
//   - `_pc(n)` ends with the exit code 16 + n, which no other result has;
//   - a fault in the input or the answer is the jury's (_fail), also in an interactor;
//   - there is no scorer, and no overview log of what a validator saw.
//
// Exit codes: 0 right, 1 wrong, 2 badly formed, 3 a fault of the jury, 7 points, from 16 on
// partially right. Messages go to stderr, and to the report file if one is named.
#ifndef DEEMSTER_TESTLIB_H
#define DEEMSTER_TESTLIB_H

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <queue>
#include <set>
#include <sstream>
#include <stack>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

enum TResult : int {
    _ok = 0,
    _wa = 1,
    _pe = 2,
    _fail = 3,
    _dirt = 4,
    _points = 5,
    _unexpected_eof = 8,
    _partially = 16
};
enum TMode { _input, _output, _answer };
enum TTestlibMode { _unknown, _checker, _validator, _generator, _interactor, _scorer };

#define _pc(percent) (TResult(_partially + (percent)))

const char LF = 10;
const char CR = 13;
const char TAB = 9;
const char SPACE = ' ';
const char EOFC = char(255);

static TTestlibMode testlibMode = _unknown;
/// What an interactor leaves for the checker.
static std::fstream tout;

#define DEEMSTER_PRINTF(at, rest) __attribute__((__format__(__printf__, at, rest)))

// ---- text ----

namespace testlib_detail
{
inline std::string vformat(const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int length = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    std::vector<char> text(length < 0 ? 1 : std::size_t(length) + 1);
    std::vsnprintf(text.data(), text.size(), format, args);
    return std::string(text.data());
}

/// Puts what a call with `format, ...` says into `text`.
#define DEEMSTER_FORMAT(format, text)                                                          \
    va_list deemster_args;                                                                     \
    va_start(deemster_args, format);                                                           \
    const std::string text = testlib_detail::vformat(format, deemster_args);                   \
    va_end(deemster_args)

inline std::string formatted(const char *format, ...)
{
    DEEMSTER_FORMAT(format, text);
    return text;
}

inline std::string plain_number(double value)
{
    char text[400];
    std::snprintf(text, sizeof text, "%.10f", value);
    std::string result = text;
    result.erase(result.find_last_not_of('0') + 1);
    if (result.back() == '.')
        result.pop_back();
    return result == "-0" ? "0" : result;
}
} // namespace testlib_detail

inline bool isEof(char c) { return c == EOFC; }
inline bool isEoln(char c) { return c == LF || c == CR; }
inline bool isBlanks(char c) { return c == LF || c == CR || c == SPACE || c == TAB; }

/// A template, so that it goes before the one of C++20.
template <typename... Args> std::string format(const char *format_, const Args &...args)
{
    return testlib_detail::formatted(format_, args...);
}

template <typename... Args> std::string format(const std::string &format_, const Args &...args)
{
    return testlib_detail::formatted(format_.c_str(), args...);
}

#define testlib_format_ format

/// A long text without its middle.
inline std::string compress(const std::string &s)
{
    if (s.length() <= 64)
        return s;
    return s.substr(0, 30) + "..." + s.substr(s.length() - 31);
}

inline std::string __testlib_part(const std::string &s) { return compress(s); }

/// "st" for 1, "nd" for 2 …
inline std::string englishEnding(int x)
{
    x = std::abs(x % 100);
    if (x / 10 == 1)
        return "th";
    static const char *const endings[] = {"th", "st", "nd", "rd"};
    return x % 10 < 4 ? endings[x % 10] : "th";
}

template <typename T> std::string toString(const T &value)
{
    std::ostringstream stream;
    stream << value;
    return stream.str();
}

template <typename T> std::string vtos(const T &value) { return toString(value); }

inline std::string trim(const std::string &s)
{
    std::size_t begin = 0, end = s.length();
    while (begin < end && isBlanks(s[begin]))
        ++begin;
    while (end > begin && isBlanks(s[end - 1]))
        --end;
    return s.substr(begin, end - begin);
}

inline std::string lowerCase(std::string s)
{
    for (char &c : s)
        c = char(std::tolower(static_cast<unsigned char>(c)));
    return s;
}

inline std::string upperCase(std::string s)
{
    for (char &c : s)
        c = char(std::toupper(static_cast<unsigned char>(c)));
    return s;
}

/// Parts between separators, empty ones too.
inline std::vector<std::string> split(const std::string &s, const std::string &separators)
{
    std::vector<std::string> parts(1);
    for (const char c : s) {
        if (separators.find(c) == std::string::npos)
            parts.back() += c;
        else
            parts.emplace_back();
    }
    return parts;
}

inline std::vector<std::string> split(const std::string &s, char separator)
{
    return split(s, std::string(1, separator));
}

/// Parts between separators, without empty ones.
inline std::vector<std::string> tokenize(const std::string &s, const std::string &separators)
{
    std::vector<std::string> parts = split(s, separators);
    parts.erase(std::remove(parts.begin(), parts.end(), std::string()), parts.end());
    return parts;
}

inline std::vector<std::string> tokenize(const std::string &s, char separator)
{
    return tokenize(s, std::string(1, separator));
}

template <typename It, typename Separator>
std::string join(It first, It last, Separator separator)
{
    std::ostringstream stream;
    for (It at = first; at != last; ++at) {
        if (at != first)
            stream << separator;
        stream << *at;
    }
    return stream.str();
}

template <typename It> std::string join(It first, It last) { return join(first, last, ' '); }

template <typename Collection, typename Separator,
          typename = decltype(std::declval<const Collection &>().begin())>
std::string join(const Collection &collection, Separator separator)
{
    return join(collection.begin(), collection.end(), separator);
}

template <typename Collection> std::string join(const Collection &collection)
{
    return join(collection.begin(), collection.end(), ' ');
}

// ---- comparing numbers ----

/// Within an absolute or a relative error, whichever is larger.
inline bool doubleCompare(double expected, double result, double MAX_DOUBLE_ERROR)
{
    const double slack = 1e-15;
    if (std::isnan(expected) || std::isnan(result))
        return std::isnan(expected) && std::isnan(result);
    if (std::isinf(expected) || std::isinf(result))
        return expected == result;
    if (std::fabs(result - expected) <= MAX_DOUBLE_ERROR + slack)
        return true;
    return std::fabs(result - expected) <= MAX_DOUBLE_ERROR * std::fabs(expected) + slack;
}

/// The absolute or the relative error, whichever is smaller.
inline double doubleDelta(double expected, double result)
{
    const double absolute = std::fabs(result - expected);
    if (std::fabs(expected) <= 1e-9)
        return absolute;
    return std::min(absolute, std::fabs(absolute / expected));
}

// ---- the end ----

namespace testlib_detail
{
struct Session {
    bool has_quit;
    bool has_read_eof;
    int test_case;
    std::string report_name;
    bool report_is_xml;
    std::map<std::string, std::string> opts;
    std::set<std::string> opts_used;
    std::vector<std::string> argv;
    bool wants_all_opts_used;

    Session()
        : has_quit(false), has_read_eof(false), test_case(0), report_is_xml(false),
          wants_all_opts_used(false)
    {
    }
    ~Session();
};

inline Session &session()
{
    static Session the_one;
    return the_one;
}

inline int exit_code(TResult result)
{
    switch (result) {
    case _ok:
    case _wa:
    case _fail:
        return int(result);
    case _pe:
    case _dirt:
    case _unexpected_eof:
        return 2;
    case _points:
        return 7;
    default:
        return result >= _partially && result <= 255 ? int(result) : 3;
    }
}

inline std::string title(TResult result)
{
    switch (exit_code(result)) {
    case 0:
        return "ok ";
    case 1:
        return "wrong answer ";
    case 2:
        return "wrong output format ";
    case 3:
        return "FAIL ";
    case 7:
        return "points ";
    default:
        return "partially correct (" + std::to_string(result - _partially) + ") ";
    }
}

inline std::string outcome(TResult result)
{
    static const char *const names[] = {"accepted", "wrong-answer", "presentation-error",
                                        "fail"};
    const int code = exit_code(result);
    if (code < 4)
        return names[code];
    return code == 7 ? "points" : "partially-correct";
}

inline void write_report(TResult result, const std::string &message)
{
    std::ofstream report(session().report_name.c_str());
    if (!session().report_is_xml) {
        report << title(result) << message << "\n";
        return;
    }
    report << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
    report << "<result outcome = \"" << outcome(result) << "\"";
    if (result >= _partially)
        report << " pctype = \"" << result - _partially << "\"";
    if (result == _points)
        report << " points = \"" << message.substr(0, message.find(' ')) << "\"";
    report << ">";
    for (const char c : message) {
        if (c == '<')
            report << "&lt;";
        else if (c == '>')
            report << "&gt;";
        else if (c == '&')
            report << "&amp;";
        else
            report << (static_cast<unsigned char>(c) < 32 ? '.' : c);
    }
    report << "</result>\n";
}

inline void say(TResult result, const std::string &message)
{
    session().has_quit = true;
    if (tout.is_open())
        tout.close();
    if (!session().report_name.empty())
        write_report(result, message);
    std::fflush(stdout);
    std::fprintf(stderr, "%s%s\n", title(result).c_str(), message.c_str());
}

[[noreturn]] inline void finish(TResult result, std::string message)
{
    if (session().test_case && result != _ok)
        message += " (test case " + std::to_string(session().test_case) + ")";
    say(result, message);
    std::exit(exit_code(result));
}
} // namespace testlib_detail

[[noreturn]] inline void quit(TResult result, const std::string &message);

[[noreturn]] inline void quit(TResult result, const char *message)
{
    quit(result, std::string(message));
}

[[noreturn]] DEEMSTER_PRINTF(2, 3) inline void quitf(TResult result, const char *format, ...)
{
    DEEMSTER_FORMAT(format, message);
    quit(result, message);
}

DEEMSTER_PRINTF(3, 4)
inline void quitif(bool condition, TResult result, const char *format, ...)
{
    if (condition) {
        DEEMSTER_FORMAT(format, message);
        quit(result, message);
    }
}

[[noreturn]] inline void quits(TResult result, const std::string &message)
{
    quit(result, message);
}

template <typename Value>
[[noreturn]] DEEMSTER_PRINTF(4, 5) void expectedButFound(TResult result, Value expected,
                                                         Value found, const char *format, ...)
{
    DEEMSTER_FORMAT(format, message);
    std::ostringstream text;
    if (!message.empty())
        text << message << ": ";
    text << std::setprecision(12) << "expected '" << expected << "', but found '" << found << "'";
    quit(result, text.str());
}

template <typename Value>
[[noreturn]] void expectedButFound(TResult result, Value expected, Value found)
{
    expectedButFound(result, expected, found, "%s", "");
}

/* Features that a validator counts over all tests: known, and counted by nobody here. */
inline void addFeature(const std::string &) {}
inline void feature(const std::string &) {}

[[noreturn]] inline void __testlib_fail(const std::string &message) { quit(_fail, message); }

template <typename Points>
[[noreturn]] void quitp(Points points, const std::string &message = "")
{
    const double value = double(points);
    if (!std::isfinite(value))
        quit(_fail, "The points are no number");
    const std::string number = testlib_detail::plain_number(value);
    quit(_points, message.empty() ? number : number + " " + message);
}

template <typename Points>
[[noreturn]] DEEMSTER_PRINTF(2, 3) void quitp(Points points, const char *format, ...)
{
    DEEMSTER_FORMAT(format, message);
    quitp(points, message);
}

[[noreturn]] DEEMSTER_PRINTF(2, 3) inline void quitpi(const std::string &points_info,
                                                      const char *format, ...)
{
    DEEMSTER_FORMAT(format, message);
    quit(_points, points_info + " " + message);
}

inline void ensuref(bool condition, const std::string &message)
{
    if (!condition)
        quit(_fail, message);
}

DEEMSTER_PRINTF(2, 3) inline void ensuref(bool condition, const char *format, ...)
{
    if (!condition) {
        DEEMSTER_FORMAT(format, message);
        quit(_fail, message);
    }
}

inline void __testlib_ensure(bool condition, const char *message)
{
    if (!condition)
        quit(_fail, message);
}

#define ensure(condition) __testlib_ensure((condition), "Condition failed: \"" #condition "\"")
#define ensure_ext(condition)                                                                  \
    __testlib_ensure((condition), "Line " + std::to_string(__LINE__) +                         \
                                      ": condition failed: \"" #condition "\"")

inline void __testlib_ensure(bool condition, const std::string &message)
{
    if (!condition)
        quit(_fail, message);
}

/// Messages name the test case from now on.
inline void setTestCase(int test_case) { testlib_detail::session().test_case = test_case; }
inline void unsetTestCase() { testlib_detail::session().test_case = 0; }

// ---- random numbers ----

class random_t
{
  public:
    random_t() : state_(0x9e3779b97f4a7c15ULL) {}

    void setSeed(long long seed) { state_ = mixed(static_cast<unsigned long long>(seed)); }

    void setSeed(int argc, char *argv[])
    {
        state_ = 0;
        for (int i = 1; i < argc; ++i) {
            for (const char *c = argv[i]; *c; ++c)
                state_ = mixed(state_ * 31 + static_cast<unsigned char>(*c));
            state_ = mixed(state_ + 257);
        }
    }

    /// From 0 up to 1.
    double next() { return double(bits() >> 11) / double(1ULL << 53); }

    /// From 0 up to n - 1.
    int next(int n) { return int(below(n > 0, n)); }
    unsigned next(unsigned n) { return unsigned(below(n > 0, n)); }
    long next(long n) { return long(below(n > 0, n)); }
    unsigned long next(unsigned long n) { return static_cast<unsigned long>(below(n > 0, n)); }
    long long next(long long n) { return static_cast<long long>(below(n > 0, n)); }
    unsigned long long next(unsigned long long n) { return below(n > 0, n); }
    double next(double n) { return next() * n; }

    /// From one to the other, both included (not so the second with doubles).
    int next(int from, int to) { return between(from, to); }
    unsigned next(unsigned from, unsigned to) { return between(from, to); }
    long next(long from, long to) { return between(from, to); }
    unsigned long next(unsigned long from, unsigned long to) { return between(from, to); }
    long long next(long long from, long long to) { return between(from, to); }
    unsigned long long next(unsigned long long from, unsigned long long to)
    {
        return between(from, to);
    }
    double next(double from, double to) { return from + next() * (to - from); }

    /// Something that the pattern matches.
    std::string next(const std::string &pattern);
    DEEMSTER_PRINTF(2, 3) std::string next(const char *format, ...)
    {
        DEEMSTER_FORMAT(format, pattern);
        return next(pattern);
    }

    /// The largest of `type` + 1 numbers, or, where `type` is negative, the smallest.
    template <typename T> T wnext(T n, int type) { return weighted(T(0), n, type, false); }
    template <typename T> T wnext(T from, T to, int type)
    {
        return weighted(from, to, type, true);
    }

    template <typename Container>
    auto any(const Container &container) -> typename Container::value_type
    {
        return any(container.begin(), container.end());
    }
    template <typename It>
    auto any(It begin, It end) -> typename std::iterator_traits<It>::value_type
    {
        return wany(begin, end, 0);
    }
    template <typename Container>
    auto wany(const Container &container, int type) -> typename Container::value_type
    {
        return wany(container.begin(), container.end(), type);
    }
    template <typename It>
    auto wany(It begin, It end, int type) -> typename std::iterator_traits<It>::value_type
    {
        const long long size = static_cast<long long>(std::distance(begin, end));
        if (size <= 0)
            __testlib_fail("random_t::any: there is nothing to choose from");
        std::advance(begin, wnext(size, type));
        return *begin;
    }

    /// first, first + 1, … in any order.
    template <typename T, typename E> std::vector<E> perm(T size, E first)
    {
        if (size < 0)
            __testlib_fail("random_t::perm(size, first): size must not be negative");
        std::vector<E> result(static_cast<std::size_t>(size));
        E value = first;
        for (E &each : result)
            each = value++;
        for (std::size_t i = 1; i < result.size(); ++i)
            std::swap(result[i], result[static_cast<std::size_t>(next(0LL, (long long)(i)))]);
        return result;
    }
    template <typename T> std::vector<T> perm(T size) { return perm(size, T(0)); }

    /// Numbers of a range, none of them twice, in any order.
    template <typename T> std::vector<T> distinct(int size, T from, T to)
    {
        std::vector<T> result;
        if (size < 0 || from > to)
            __testlib_fail("random_t::distinct: nothing can be chosen so");
        const unsigned long long count = (unsigned long long)(to) - (unsigned long long)(from);
        if (size > 0 && count != ULLONG_MAX && count + 1 < (unsigned long long)(size))
            __testlib_fail("random_t::distinct: there are not so many numbers");
        // Floyd's way: each of the last `size` values may give its place to an earlier one.
        std::set<T> taken;
        for (int i = size; i > 0; --i) {
            const T last = T((unsigned long long)(to) - (unsigned long long)(i - 1));
            const T chosen = between(from, last);
            taken.insert(taken.count(chosen) ? last : chosen);
        }
        result.assign(taken.begin(), taken.end());
        for (std::size_t i = 1; i < result.size(); ++i)
            std::swap(result[i], result[static_cast<std::size_t>(next(0LL, (long long)(i)))]);
        return result;
    }
    template <typename T> std::vector<T> distinct(int size, T upper)
    {
        return size == 0 ? std::vector<T>() : distinct(size, T(0), T(upper - 1));
    }

    /// Numbers with a given sum, each at least `min_part`.
    template <typename T> std::vector<T> partition(int size, T sum, T min_part)
    {
        if (size <= 0 || T(sum / size) < min_part)
            __testlib_fail("random_t::partition: the sum can't be parted so");
        const T rest = sum - min_part * size;
        std::vector<T> ends = distinct(size - 1, T(1), T(rest + size - 1));
        std::sort(ends.begin(), ends.end());
        ends.push_back(rest + size);
        std::vector<T> result;
        T last = 0;
        for (const T end : ends) {
            result.push_back(T(end - last - 1 + min_part));
            last = end;
        }
        return result;
    }
    template <typename T> std::vector<T> partition(int size, T sum)
    {
        return partition(size, sum, T(1));
    }

  private:
    unsigned long long state_;

    static unsigned long long mixed(unsigned long long value)
    {
        value += 0x9e3779b97f4a7c15ULL;
        value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
        value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
        return value ^ (value >> 31);
    }

    unsigned long long bits()
    {
        state_ += 0x9e3779b97f4a7c15ULL;
        return mixed(state_);
    }

    template <typename T> unsigned long long below(bool is_positive, T n)
    {
        if (!is_positive)
            __testlib_fail("random_t::next(n): n must be positive");
        return up_to((unsigned long long)(n)-1);
    }

    unsigned long long up_to(unsigned long long most)
    {
        if (most == ULLONG_MAX)
            return bits();
        const unsigned long long count = most + 1;
        const unsigned long long fair = ULLONG_MAX - ULLONG_MAX % count;
        unsigned long long drawn = bits();
        while (drawn >= fair)
            drawn = bits();
        return drawn % count;
    }

    template <typename T> T between(T from, T to)
    {
        if (from > to)
            __testlib_fail("random_t::next(from, to): from is greater than to");
        const unsigned long long low = (unsigned long long)(from);
        return T(low + up_to((unsigned long long)(to)-low));
    }
    double between(double from, double to) { return next(from, to); }

    template <typename T> T weighted(T from, T to, int type, bool inclusive)
    {
        const int times = std::abs(type) + 1;
        if (times > 32 && std::is_integral<T>::value && from < to) {
            const double share = std::pow(next(), 1.0 / times);
            const double span = double(to) - double(from) + (inclusive ? 1 : 0);
            const T step = T(span * (type > 0 ? share : 1 - share));
            return std::min(T(from + step), T(inclusive ? to : to - 1));
        }
        T best = draw(from, to, inclusive);
        for (int i = 1; i < times; ++i) {
            const T other = draw(from, to, inclusive);
            best = type > 0 ? std::max(best, other) : std::min(best, other);
        }
        return best;
    }
    template <typename T> T draw(T from, T to, bool inclusive)
    {
        return inclusive ? between(from, to) : next(to);
    }
};

static random_t rnd;

template <typename It> void shuffle(It first, It last)
{
    for (It at = first; at != last; ++at)
        std::iter_swap(at, first + rnd.next(0, int(at - first)));
}

// ---- patterns ----

/// A regular expression: sets of characters, `{n,m}`, `?`, `*`, `+`, `|` and groups. A
/// backslash takes its meaning from the next character; blanks count only behind one.
class pattern
{
  public:
    pattern(std::string source) : source_(std::move(source)), at_(0)
    {
        root_ = alternatives();
        if (at_ != source_.size())
            illegal();
    }

    bool matches(const std::string &text) const
    {
        Places places(text.size() + 1, false);
        places[0] = true;
        return walk(root_, text, std::move(places)).back();
    }

    std::string next(random_t &random) const
    {
        std::string result;
        generate(root_, random, result);
        return result;
    }

    std::string src() const { return source_; }

  private:
    /// The places in a text that can be reached.
    typedef std::vector<bool> Places;

    struct Node {
        enum Kind { Set, Sequence, Choice } kind;
        std::vector<bool> set;
        std::vector<Node> parts;
        std::size_t least, most;
        explicit Node(Kind kind_) : kind(kind_), least(1), most(1) {}
    };

    static std::size_t unbounded() { return std::size_t(-1); }

    std::string source_;
    std::size_t at_;
    Node root_ = Node(Node::Choice);

    [[noreturn]] void illegal() const { __testlib_fail("Illegal pattern \"" + source_ + "\""); }

    bool more()
    {
        while (at_ < source_.size() && source_[at_] == ' ')
            ++at_;
        return at_ < source_.size();
    }
    bool sees(char c) { return more() && source_[at_] == c; }
    bool takes(char c) { return sees(c) && ++at_; }

    char character()
    {
        if (takes('\\') && at_ >= source_.size())
            illegal();
        return source_[at_++];
    }

    Node alternatives()
    {
        Node node(Node::Choice);
        do
            node.parts.push_back(sequence());
        while (takes('|'));
        return node;
    }

    Node sequence()
    {
        Node node(Node::Sequence);
        while (more() && !sees('|') && !sees(')')) {
            Node part = sees('(') ? group() : characters();
            counts(part);
            node.parts.push_back(std::move(part));
        }
        return node;
    }

    Node group()
    {
        takes('(');
        Node node = alternatives();
        if (!takes(')'))
            illegal();
        return node;
    }

    Node characters()
    {
        Node node(Node::Set);
        node.set.assign(256, false);
        if (!takes('[')) {
            node.set[static_cast<unsigned char>(character())] = true;
            return node;
        }
        const bool negated = takes('^');
        while (!takes(']')) {
            if (!more())
                illegal();
            const unsigned char low = static_cast<unsigned char>(character());
            unsigned char high = low;
            if (sees('-') && at_ + 1 < source_.size() && source_[at_ + 1] != ']') {
                takes('-');
                if (!more())
                    illegal();
                high = static_cast<unsigned char>(character());
            }
            if (high < low)
                illegal();
            for (int c = low; c <= high; ++c)
                node.set[std::size_t(c)] = true;
        }
        if (negated)
            node.set.flip();
        return node;
    }

    void counts(Node &node)
    {
        if (takes('?')) {
            node.least = 0;
        } else if (takes('*')) {
            node.least = 0, node.most = unbounded();
        } else if (takes('+')) {
            node.most = unbounded();
        } else if (takes('{')) {
            node.least = sees(',') ? 0 : number();
            node.most = !takes(',') ? node.least : sees('}') ? unbounded() : number();
            if (!takes('}') || node.least > node.most)
                illegal();
        }
    }

    std::size_t number()
    {
        if (!more() || !std::isdigit(static_cast<unsigned char>(source_[at_])))
            illegal();
        std::size_t value = 0;
        while (more() && std::isdigit(static_cast<unsigned char>(source_[at_]))) {
            value = value * 10 + std::size_t(source_[at_++] - '0');
            if (value > INT_MAX)
                illegal();
        }
        return value;
    }

    /// Where one can be after the node, from any of these places.
    static Places walk(const Node &node, const std::string &text, Places from)
    {
        if (node.kind == Node::Set)
            return run(node, text, from);
        Places reached(from.size(), false);
        for (std::size_t times = 0;; ++times) {
            if (times >= node.least && !add(reached, from) && times > node.least)
                return reached;
            if (times == node.most || std::find(from.begin(), from.end(), true) == from.end())
                return reached;
            from = once(node, text, std::move(from));
        }
    }

    static Places once(const Node &node, const std::string &text, Places from)
    {
        if (node.kind == Node::Sequence) {
            for (const Node &part : node.parts)
                from = walk(part, text, std::move(from));
            return from;
        }
        Places reached(from.size(), false);
        for (const Node &part : node.parts)
            add(reached, walk(part, text, from));
        return reached;
    }

    /// Whether anything was new.
    static bool add(Places &places, const Places &others)
    {
        bool changed = false;
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (others[i] && !places[i])
                places[i] = changed = true;
        }
        return changed;
    }

    /// The same for a set that is repeated, in one pass over the text: `open` counts the places
    /// from which the present one is neither too near nor too far.
    static Places run(const Node &node, const std::string &text, const Places &from)
    {
        Places reached(from.size(), false);
        std::size_t begin = 0;
        while (begin < from.size()) {
            std::size_t end = begin;
            while (end < text.size() && node.set[static_cast<unsigned char>(text[end])])
                ++end;
            std::size_t open = 0;
            for (std::size_t i = begin; i <= end; ++i) {
                if (i - begin >= node.least && from[i - node.least])
                    ++open;
                const bool bounded = node.most != unbounded();
                if (bounded && i - begin > node.most && from[i - node.most - 1])
                    --open;
                reached[i] = open > 0;
            }
            begin = end + 1;
        }
        return reached;
    }

    static void generate(const Node &node, random_t &random, std::string &result)
    {
        if (node.most == unbounded())
            __testlib_fail("Nothing can be generated from a pattern with * or +");
        std::size_t times = node.least;
        if (node.most > node.least)
            times = random.next(node.least, node.most);
        for (; times > 0; --times) {
            if (node.kind == Node::Set) {
                std::string all;
                for (int c = 0; c < 256; ++c) {
                    if (node.set[std::size_t(c)])
                        all += char(c);
                }
                result += random.any(all);
            } else if (node.kind == Node::Choice) {
                generate(node.parts[random.next(node.parts.size())], random, result);
            } else {
                for (const Node &part : node.parts)
                    generate(part, random, result);
            }
        }
    }
};

inline std::string random_t::next(const std::string &source)
{
    return pattern(source).next(*this);
}

// ---- reading ----

/// One of the input, the output that is judged, and the answer.
///
/// A strict stream (that of a validator) must have just the blanks that are read; others skip
/// blanks before tokens. What is wrong with it ends the program.
class InStream
{
  public:
    std::string name;
    TMode mode;
    bool strict;
    std::size_t maxTokenLength;

    InStream() : InStream(_output, "") {}
    InStream(TMode mode_, const std::string &name_)
        : name(name_), mode(mode_), strict(false), maxTokenLength(32u << 20), fd_(-1), at_(0),
          end_(0), line_(1)
    {
    }
    /// Reads the text, as if it were that stream.
    InStream(const InStream &base, const std::string &text) : InStream(base.mode, base.name)
    {
        strict = base.strict;
        buffer_.assign(text.begin(), text.end());
        end_ = buffer_.size();
    }
    InStream(const InStream &) = delete;
    InStream &operator=(const InStream &) = delete;
    ~InStream() { close(); }

    void init(const std::string &path, TMode mode_)
    {
        name = path;
        mode = mode_;
        open(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    }
    void init(std::FILE *file, TMode mode_)
    {
        name = file == stdin ? "stdin" : "file";
        mode = mode_;
        open(::dup(fileno(file)));
    }
    void close()
    {
        if (fd_ >= 0)
            ::close(fd_);
        fd_ = -1;
        at_ = end_ = 0;
    }
    /// To its beginning.
    void reset()
    {
        if (fd_ >= 0 && ::lseek(fd_, 0, SEEK_SET) < 0)
            quit(_fail, "It can't be read again");
        at_ = 0;
        if (fd_ >= 0)
            end_ = 0;
        line_ = 1;
    }

    // -- characters --

    char curChar() { return at_end() ? EOFC : buffer_[at_]; }
    char nextChar() { return readChar(); }
    char readChar()
    {
        const char c = curChar();
        skipChar();
        return c;
    }
    char readChar(char expected)
    {
        if (at_end())
            quit(_unexpected_eof,
                 "Unexpected end of file - character " + shown(expected) + " expected");
        const char found = readChar();
        if (found != expected) {
            unreadChar(found);
            quit(_pe, "Unexpected character " + shown(found) + ", but " + shown(expected) +
                          " expected");
        }
        return found;
    }
    char readSpace() { return readChar(' '); }
    void skipChar()
    {
        if (!at_end() && buffer_[at_++] == LF)
            ++line_;
    }
    void unreadChar(char c)
    {
        if (at_ == 0) {
            buffer_.insert(buffer_.begin(), c);
            ++end_;
        } else {
            buffer_[--at_] = c;
        }
        if (c == LF)
            --line_;
    }
    void skipBlanks()
    {
        while (!at_end() && isBlanks(buffer_[at_]))
            skipChar();
    }
    void skipBom()
    {
        const char mark[] = "\xEF\xBB\xBF";
        if (!at_end() && end_ - at_ >= 3 && std::equal(mark, mark + 3, &buffer_[at_]))
            at_ += 3;
    }

    // -- ends --

    bool eof() { return at_end(); }
    bool seekEof()
    {
        skipBlanks();
        return at_end();
    }
    /// Whether a line ends here; if so, goes on to the next.
    bool eoln()
    {
        if (at_end())
            return !strict;
        const char c = readChar();
        if (c == LF)
            return true;
        if (c == CR && !strict) {
            if (curChar() == LF && !at_end()) {
                skipChar();
                return true;
            }
        }
        unreadChar(c);
        return false;
    }
    bool seekEoln()
    {
        if (strict)
            quit(_fail, "seekEoln() is not for strict streams");
        while (!at_end() && (curChar() == SPACE || curChar() == TAB))
            skipChar();
        return eoln();
    }
    void readEoln()
    {
        if (!eoln())
            quit(_pe, "Expected EOLN");
    }
    void readEof()
    {
        if (!at_end())
            quit(_pe, "Expected EOF");
        testlib_detail::session().has_read_eof = true;
    }
    void nextLine() { readLine(); }
    int getLine() const { return line_; }

    // -- tokens and lines --

    void readWordTo(std::string &result)
    {
        if (!strict)
            skipBlanks();
        if (at_end())
            quit(_unexpected_eof, "Unexpected end of file - token expected");
        if (isBlanks(buffer_[at_]))
            quit(_pe, "Unexpected white-space - token expected");
        result.clear();
        do {
            std::size_t stop = at_;
            while (stop < end_ && !isBlanks(buffer_[stop]))
                ++stop;
            result.append(&buffer_[at_], stop - at_);
            at_ = stop;
            if (result.size() > maxTokenLength)
                quit(_pe, "A token is longer than " + std::to_string(maxTokenLength));
        } while (!at_end() && !isBlanks(buffer_[at_]));
    }
    void readLineTo(std::string &result)
    {
        if (at_end())
            quit(_unexpected_eof, "Expected line");
        result.clear();
        while (!at_end()) {
            const char c = readChar();
            if (c == LF)
                break;
            result += c;
            if (result.size() > maxTokenLength)
                quit(_pe, "A line is longer than " + std::to_string(maxTokenLength));
        }
        if (!strict && !result.empty() && result.back() == CR)
            result.pop_back();
    }
    std::string readWord()
    {
        readWordTo(word_);
        return word_;
    }
    std::string readLine()
    {
        readLineTo(word_);
        return word_;
    }
    void readWordTo(std::string &result, const pattern &p, const std::string &variableName = "")
    {
        readWordTo(result);
        check_pattern("Token", result, p, variableName);
    }
    void readLineTo(std::string &result, const pattern &p, const std::string &variableName = "")
    {
        readLineTo(result);
        check_pattern("Line", result, p, variableName);
    }
    std::string readWord(const pattern &p, const std::string &variableName = "")
    {
        readWordTo(word_, p, variableName);
        return word_;
    }
    std::string readLine(const pattern &p, const std::string &variableName = "")
    {
        readLineTo(word_, p, variableName);
        return word_;
    }
    std::string readWord(const std::string &p, const std::string &variableName = "")
    {
        return readWord(known_pattern(p), variableName);
    }
    std::string readLine(const std::string &p, const std::string &variableName = "")
    {
        return readLine(known_pattern(p), variableName);
    }
    void readWordTo(std::string &result, const std::string &p, const std::string &name_ = "")
    {
        readWordTo(result, known_pattern(p), name_);
    }
    void readLineTo(std::string &result, const std::string &p, const std::string &name_ = "")
    {
        readLineTo(result, known_pattern(p), name_);
    }
    template <typename... Args> std::string readToken(const Args &...args)
    {
        return readWord(args...);
    }
    template <typename... Args> std::string readString(const Args &...args)
    {
        return readLine(args...);
    }
    template <typename... Args> void readTokenTo(std::string &result, const Args &...args)
    {
        readWordTo(result, args...);
    }
    template <typename... Args> void readStringTo(std::string &result, const Args &...args)
    {
        readLineTo(result, args...);
    }

    // -- numbers --

    long long readLong() { return whole<long long>("int64"); }
    unsigned long long readUnsignedLong()
    {
        return whole<unsigned long long>("unsigned int64");
    }
    int readInt() { return whole<int>("int32"); }
    int readInteger() { return readInt(); }
    double readDouble()
    {
        start("double");
        return double_word();
    }
    double readReal() { return readDouble(); }

    long long readLong(long long minv, long long maxv, const std::string &variableName = "")
    {
        return in_range("Integer", readLong(), minv, maxv, variableName);
    }
    unsigned long long readUnsignedLong(unsigned long long minv, unsigned long long maxv,
                                        const std::string &variableName = "")
    {
        return in_range("Unsigned integer", readUnsignedLong(), minv, maxv, variableName);
    }
    int readInt(int minv, int maxv, const std::string &variableName = "")
    {
        return in_range("Integer", readInt(), minv, maxv, variableName);
    }
    int readInteger(int minv, int maxv, const std::string &variableName = "")
    {
        return readInt(minv, maxv, variableName);
    }
    double readDouble(double minv, double maxv, const std::string &variableName = "")
    {
        return in_range("Double", readDouble(), minv, maxv, variableName);
    }
    double readReal(double minv, double maxv, const std::string &variableName = "")
    {
        return readDouble(minv, maxv, variableName);
    }
    /// Without an exponent, and with so many digits after the point.
    double readStrictDouble(double minv, double maxv, int minAfterPointDigitCount,
                            int maxAfterPointDigitCount, const std::string &variableName = "")
    {
        start("double");
        double value;
        if (!is_strict_double(minAfterPointDigitCount, maxAfterPointDigitCount) ||
            !parse(word_, value))
            unexpected("strict double");
        return in_range("Strict double", value, minv, maxv, variableName);
    }
    double readStrictReal(double minv, double maxv, int minAfterPointDigitCount,
                          int maxAfterPointDigitCount, const std::string &variableName = "")
    {
        return readStrictDouble(minv, maxv, minAfterPointDigitCount, maxAfterPointDigitCount,
                                variableName);
    }

    long long parsed_long(const std::string &text)
    {
        word_ = text;
        return whole_word<long long>("int64");
    }
    double parsed_double(const std::string &text)
    {
        word_ = text;
        return double_word();
    }

    // -- many, in a strict stream with single blanks or line ends between them --

#define DEEMSTER_READ_MANY(many, one, Type)                                                    \
    std::vector<Type> many(int size, int indexBase = 1)                                        \
    {                                                                                          \
        return read_many<Type>(size, indexBase, [&](const std::string &) { return one(); });   \
    }
#define DEEMSTER_READ_MANY_IN_RANGE(many, one, Type)                                           \
    DEEMSTER_READ_MANY(many, one, Type)                                                        \
    std::vector<Type> many(int size, Type minv, Type maxv, const std::string &names = "",      \
                           int indexBase = 1)                                                  \
    {                                                                                          \
        return read_many<Type>(size, indexBase, [&](const std::string &index) {                \
            return one(minv, maxv, names.empty() ? "" : names + index);                        \
        });                                                                                    \
    }
#define DEEMSTER_READ_MANY_BY_PATTERN(many, one)                                               \
    DEEMSTER_READ_MANY(many, one, std::string)                                                 \
    template <typename Pattern>                                                                \
    std::vector<std::string> many(int size, const Pattern &p, const std::string &names = "",   \
                                  int indexBase = 1)                                           \
    {                                                                                          \
        const pattern compiled(p);                                                             \
        return read_many<std::string>(size, indexBase, [&](const std::string &index) {         \
            return one(compiled, names.empty() ? "" : names + index);                          \
        });                                                                                    \
    }
    DEEMSTER_READ_MANY_IN_RANGE(readInts, readInt, int)
    DEEMSTER_READ_MANY_IN_RANGE(readIntegers, readInt, int)
    DEEMSTER_READ_MANY_IN_RANGE(readLongs, readLong, long long)
    DEEMSTER_READ_MANY_IN_RANGE(readUnsignedLongs, readUnsignedLong, unsigned long long)
    DEEMSTER_READ_MANY_IN_RANGE(readDoubles, readDouble, double)
    DEEMSTER_READ_MANY_IN_RANGE(readReals, readDouble, double)
    DEEMSTER_READ_MANY_BY_PATTERN(readTokens, readWord)
    DEEMSTER_READ_MANY_BY_PATTERN(readWords, readWord)
#undef DEEMSTER_READ_MANY
#undef DEEMSTER_READ_MANY_IN_RANGE
#undef DEEMSTER_READ_MANY_BY_PATTERN
    std::vector<std::string> readLines(int size, int = 1)
    {
        std::vector<std::string> lines;
        for (int i = 0; i < size; ++i)
            lines.push_back(readLine());
        return lines;
    }
    template <typename Pattern>
    std::vector<std::string> readLines(int size, const Pattern &p,
                                       const std::string &names = "", int indexBase = 1)
    {
        const pattern compiled(p);
        std::vector<std::string> lines;
        for (int i = 0; i < size; ++i)
            lines.push_back(readLine(compiled, names.empty() ? "" : names + at(indexBase + i)));
        return lines;
    }
    template <typename... Args>
    std::vector<std::string> readStrings(int size, const Args &...args)
    {
        return readLines(size, args...);
    }
    std::vector<double> readStrictDoubles(int size, double minv, double maxv, int least,
                                          int most, const std::string &names = "",
                                          int indexBase = 1)
    {
        return read_many<double>(size, indexBase, [&](const std::string &index) {
            return readStrictDouble(minv, maxv, least, most,
                                    names.empty() ? "" : names + index);
        });
    }

    // -- ending --

    /// A fault in the input or the answer isn't that of whoever is judged.
    [[noreturn]] void quit(TResult result, const std::string &message)
    {
        if (mode == _output || result == _fail) {
            ::quit(result, message);
        }
        std::string where = name;
        if (strict)
            where += ", line " + std::to_string(line_);
        testlib_detail::finish(_fail, message + " (" + where + ")");
    }
    [[noreturn]] void quits(TResult result, const std::string &message)
    {
        quit(result, message);
    }
    [[noreturn]] DEEMSTER_PRINTF(3, 4) void quitf(TResult result, const char *format, ...)
    {
        DEEMSTER_FORMAT(format, message);
        quit(result, message);
    }
    DEEMSTER_PRINTF(4, 5)
    void quitif(bool condition, TResult result, const char *format, ...)
    {
        if (condition) {
            DEEMSTER_FORMAT(format, message);
            quit(result, message);
        }
    }
    void setTestCase(int test_case) { ::setTestCase(test_case); }

  private:
    int fd_;
    std::vector<char> buffer_;
    std::size_t at_, end_;
    int line_;
    std::string word_;
    std::string pattern_source_;
    std::vector<pattern> pattern_;

    static std::string at(int index) { return "[" + std::to_string(index) + "]"; }

    static std::string shown(char c)
    {
        if (static_cast<unsigned char>(c) <= 32 || static_cast<unsigned char>(c) >= 127)
            return "#" + std::to_string(static_cast<unsigned char>(c));
        return std::string("'") + c + "'";
    }

    void open(int fd)
    {
        close();
        fd_ = fd;
        line_ = 1;
        if (fd < 0)
            testlib_detail::finish(mode == _output ? _pe : _fail, "Can not open " + name);
    }

    bool at_end() { return at_ == end_ && !fill(); }

    bool fill()
    {
        if (fd_ < 0)
            return false;
        if (testlibMode == _interactor) {
            std::cout.flush(); // the other side may wait for what it says before it answers
            std::fflush(stdout);
        }
        const std::size_t size = 1u << 16;
        if (buffer_.size() < size)
            buffer_.resize(size);
        const std::size_t kept = std::min(end_, std::size_t(8)); // for unreadChar
        std::copy(buffer_.begin() + long(end_ - kept), buffer_.begin() + long(end_),
                  buffer_.begin());
        ssize_t got;
        do
            got = ::read(fd_, &buffer_[kept], buffer_.size() - kept);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            testlib_detail::finish(_fail, "Can not read " + name);
        at_ = kept;
        end_ = kept + std::size_t(got);
        return got > 0;
    }

    void start(const char *what)
    {
        if (!strict)
            skipBlanks();
        if (at_end())
            quit(_unexpected_eof,
                 std::string("Unexpected end of file - ") + what + " expected");
        readWordTo(word_);
    }

    [[noreturn]] void unexpected(const std::string &wanted)
    {
        quit(_pe, "Expected " + wanted + ", but \"" + compress(word_) + "\" found");
    }

    /// Only as a program prints it: no plus, no leading zeros, no -0.
    template <typename T> T whole(const char *type)
    {
        start(type);
        return whole_word<T>(type);
    }
    template <typename T> T whole_word(const char *type)
    {
        if (word_.empty())
            unexpected(type);
        const bool negative = word_[0] == '-' && std::is_signed<T>::value;
        const std::size_t first = negative ? 1 : 0;
        const std::size_t digits = word_.size() - first;
        if (digits == 0 || digits > 20 || (word_[first] == '0' && (digits > 1 || negative)))
            unexpected(type);
        const unsigned long long most =
            (unsigned long long)(std::numeric_limits<T>::max()) + (negative ? 1 : 0);
        unsigned long long value = 0;
        for (std::size_t i = first; i < word_.size(); ++i) {
            const unsigned digit = unsigned(word_[i]) - unsigned('0');
            if (digit > 9 || value > (most - digit) / 10)
                unexpected(type);
            value = value * 10 + digit;
        }
        return T(negative ? 0 - value : value);
    }

    double double_word()
    {
        double value;
        if (!parse(word_, value))
            unexpected("double");
        return value;
    }

    static bool parse(const std::string &text, double &value)
    {
        if (text.find_first_not_of("0123456789+-.eE") != std::string::npos)
            return false;
        char *end;
        value = std::strtod(text.c_str(), &end);
        return end == text.c_str() + text.size() && end != text.c_str() && std::isfinite(value);
    }

    bool is_strict_double(int least, int most) const
    {
        const std::size_t first = word_[0] == '-' ? 1 : 0;
        const std::size_t point = std::min(word_.find('.'), word_.size());
        const std::string before = word_.substr(first, point - first);
        const std::string after = point < word_.size() ? word_.substr(point + 1) : "";
        const char *const digits = "0123456789";
        return !before.empty() && (before.size() == 1 || before[0] != '0') &&
               before.find_first_not_of(digits) == std::string::npos &&
               after.find_first_not_of(digits) == std::string::npos &&
               (point == word_.size() || !after.empty()) && int(after.size()) >= least &&
               int(after.size()) <= most;
    }

    template <typename T>
    T in_range(const char *what, T value, T minv, T maxv, const std::string &variableName)
    {
        if (minv <= value && value <= maxv)
            return value;
        const std::string range =
            "violates the range [" + number(minv) + ", " + number(maxv) + "]";
        if (variableName.empty())
            quit(_wa, std::string(what) + " " + number(value) + " " + range);
        quit(_wa, std::string(what) + " " + named(variableName) + " equals to " +
                      number(value) + ", " + range);
    }
    static std::string named(const std::string &name_)
    {
        return (name_.back() == ']' ? "element " : "parameter ") + std::string("[name=") +
               name_ + "]";
    }
    template <typename T> static std::string number(T value) { return std::to_string(value); }
    static std::string number(double value) { return toString(value); }

    void check_pattern(const char *what, const std::string &text, const pattern &p,
                       const std::string &variableName)
    {
        if (p.matches(text))
            return;
        const std::string rest =
            "\"" + compress(text) + "\", doesn't correspond to pattern \"" + p.src() + "\"";
        if (variableName.empty())
            quit(_wa, std::string(what) + " " + rest);
        quit(_wa, std::string(what) + " " + named(variableName) + " equals to " + rest);
    }

    /// Read again and again, a pattern is taken apart only once.
    const pattern &known_pattern(const std::string &source)
    {
        if (pattern_.empty() || pattern_source_ != source) {
            pattern_.assign(1, pattern(source));
            pattern_source_ = source;
        }
        return pattern_.front();
    }

    template <typename T, typename ReadOne>
    std::vector<T> read_many(int size, int indexBase, const ReadOne &read_one)
    {
        if (size < 0)
            quit(_pe, "A number of elements must not be negative");
        std::vector<T> result; // grows with what is there, not with what was promised
        for (int i = 0; i < size; ++i) {
            if (strict && i > 0)
                readSpace();
            result.push_back(read_one(at(indexBase + i)));
        }
        return result;
    }
};

/// Numbers of tokens that were read before.
inline long long stringToLongLong(InStream &in, const std::string &text)
{
    return in.parsed_long(text);
}
inline double stringToDouble(InStream &in, const std::string &text)
{
    return in.parsed_double(text);
}

static InStream inf(_input, "input");
static InStream ouf(_output, "output");
static InStream ans(_answer, "answer");

[[noreturn]] inline void quit(TResult result, const std::string &message)
{
    const bool counts = result == _ok || result == _points;
    if (counts && testlibMode == _checker && !ouf.seekEof())
        testlib_detail::finish(_pe, "Extra information in the output file");
    testlib_detail::finish(result, message);
}

// ---- registering ----

/// What a checker or validator is told of the test, beside its files.
class Checker
{
  public:
    std::string testset() const { return testset_; }
    std::string group() const { return group_; }
    void setTestset(const std::string &name) { testset_ = name; }
    void setGroup(const std::string &name) { group_ = name; }

  private:
    std::string testset_, group_;
};

class Validator : public Checker
{
  public:
    void addFeature(const std::string &name) { known_.insert(name); }
    void feature(const std::string &name)
    {
        if (!known_.count(name))
            __testlib_fail("The feature \"" + name + "\" was never added");
    }

  private:
    std::set<std::string> known_;
};

static Checker checker;
static Validator validator;

namespace testlib_detail
{
/// Programs that forget to say how it went have failed.
inline Session::~Session()
{
    if (has_quit)
        return;
    std::string fault;
    if (testlibMode == _checker)
        fault = "Checker must end with quit or quitf call.";
    if (testlibMode == _validator && !has_read_eof)
        fault = "Validator must end with readEof call.";
    for (const auto &each : opts) {
        if (testlibMode == _generator && wants_all_opts_used && !opts_used.count(each.first))
            fault = "Opts: unused key '" + each.first + "'";
    }
    if (fault.empty())
        return;
    std::cout.flush();
    say(_fail, fault);
    std::fflush(nullptr);
    _exit(3); // no more destructors: this is one
}

/// Takes `--testset x` and `--group x` out of the arguments.
inline std::vector<std::string> arguments(int argc, char *argv[])
{
    session(); // made now, it goes after all that is made later
    std::vector<std::string> result;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word != "--testset" && word != "--group") {
            result.push_back(word);
        } else if (i + 1 < argc) {
            const std::string value = argv[++i];
            if (word == "--testset")
                checker.setTestset(value), validator.setTestset(value);
            else
                checker.setGroup(value), validator.setGroup(value);
        }
    }
    return result;
}

inline void take_report(const std::vector<std::string> &words)
{
    if (words.size() > 3)
        session().report_name = words[3];
    if (words.size() > 4)
        session().report_is_xml = lowerCase(words[4]) == "-appes";
}
} // namespace testlib_detail

inline void registerTestlibCmd(int argc, char *argv[])
{
    testlibMode = _checker;
    const std::vector<std::string> words = testlib_detail::arguments(argc, argv);
    if (words.size() < 3)
        testlib_detail::finish(
            _fail, "Program must be run with the following arguments: [--testset testset] "
                   "[--group group] <input-file> <output-file> <answer-file> "
                   "[<report-file> [<-appes>]]");
    testlib_detail::take_report(words);
    inf.init(words[0], _input);
    ouf.init(words[1], _output);
    ouf.skipBom();
    ans.init(words[2], _answer);
    ans.skipBom();
}

inline void registerInteraction(int argc, char *argv[])
{
    testlibMode = _interactor;
    const std::vector<std::string> words = testlib_detail::arguments(argc, argv);
    if (words.size() < 2)
        testlib_detail::finish(_fail,
                               "Program must be run with the following arguments: <input-file> "
                               "<output-file> [<answer-file> [<report-file> [<-appes>]]]");
    signal(SIGPIPE, SIG_IGN); // who is judged may have ended: that shows when it is read
    testlib_detail::take_report(words);
    inf.init(words[0], _input);
    tout.open(words[1].c_str(), std::ios_base::out | std::ios_base::trunc);
    if (tout.fail() || !tout.is_open())
        testlib_detail::finish(_fail, "Can not write to " + words[1]);
    ouf.init(stdin, _output);
    if (words.size() > 2)
        ans.init(words[2], _answer);
}

inline void registerValidation()
{
    testlib_detail::session();
    testlibMode = _validator;
    inf.init(stdin, _input);
    inf.strict = true;
}

inline void registerValidation(int argc, char *argv[])
{
    testlib_detail::arguments(argc, argv);
    registerValidation();
}

/// What a checker is called tells nobody anything here.
inline void setName(const char *, ...) {}
inline void setAppesModeEncoding(const std::string &) {}

// ---- generators ----

namespace testlib_detail
{
inline bool begins_option(const std::string &word)
{
    const std::size_t letter = word.compare(0, 2, "--") == 0 ? 2 : 1;
    return word.size() > letter && word[0] == '-' &&
           std::isalpha(static_cast<unsigned char>(word[letter]));
}

/// -n 5, -n=5, --n=5, -n5 and -flag.
inline void take_opts(int argc, char *argv[])
{
    session().argv.assign(argv, argv + argc);
    const std::vector<std::string> &words = session().argv;
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (!begins_option(words[i]))
            continue;
        const std::string word = words[i].substr(words[i][1] == '-' ? 2 : 1);
        const std::size_t equals = word.find('=');
        const bool is_short = word.size() > 1 && words[i][1] != '-' &&
                              std::isdigit(static_cast<unsigned char>(word[1]));
        if (equals != std::string::npos)
            session().opts[word.substr(0, equals)] = word.substr(equals + 1);
        else if (i + 1 < words.size() && !begins_option(words[i + 1]))
            session().opts[word] = words[++i];
        else if (is_short)
            session().opts[word.substr(0, 1)] = word.substr(1);
        else
            session().opts[word] = "true";
    }
}

[[noreturn]] inline void bad_opt(const std::string &text, const char *type)
{
    __testlib_fail("Opts: \"" + compress(text) + "\" is no " + type);
}

inline void convert(const std::string &text, std::string &value) { value = text; }
inline void convert(const std::string &text, bool &value)
{
    value = text == "true" || text == "1" || text == "yes";
    if (!value && text != "false" && text != "0" && text != "no")
        bad_opt(text, "bool");
}
inline void convert(const std::string &text, char &value)
{
    if (text.size() != 1)
        bad_opt(text, "char");
    value = text[0];
}
template <typename T>
typename std::enable_if<std::is_floating_point<T>::value>::type convert(const std::string &text,
                                                                        T &value)
{
    char *end;
    const long double parsed = std::strtold(text.c_str(), &end);
    if (text.empty() || *end || !std::isfinite(parsed))
        bad_opt(text, "number");
    value = T(parsed);
}
template <typename T>
typename std::enable_if<std::is_integral<T>::value>::type convert(const std::string &text,
                                                                  T &value)
{
    std::string digits = text;
    if (text.find_first_of("eE.") != std::string::npos) { // 2e5 is a whole number too
        long double parsed;
        convert(text, parsed);
        if (parsed != std::floor(parsed) || std::fabs(parsed) > 1e18L)
            bad_opt(text, "integer");
        digits = std::to_string(static_cast<long long>(parsed));
    }
    std::istringstream stream(digits);
    const bool is_below = std::is_unsigned<T>::value && digits[0] == '-';
    if (is_below || !(stream >> value) || stream.peek() != EOF)
        bad_opt(text, "integer");
}
} // namespace testlib_detail

inline void registerGen(int argc, char *argv[], int randomGeneratorVersion)
{
    testlib_detail::session();
    testlibMode = _generator;
    if (randomGeneratorVersion < 0 || randomGeneratorVersion > 2)
        __testlib_fail("Random generator version is expected to be 0, 1 or 2.");
    rnd.setSeed(argc, argv);
    testlib_detail::take_opts(argc, argv);
}

inline void registerGen(int argc, char *argv[]) { registerGen(argc, argv, 0); }

inline bool has_opt(const std::string &key)
{
    testlib_detail::session().wants_all_opts_used = true;
    testlib_detail::session().opts_used.insert(key);
    return testlib_detail::session().opts.count(key) != 0;
}

template <typename T> T opt(int index)
{
    const std::vector<std::string> &words = testlib_detail::session().argv;
    if (index < 0 || std::size_t(index) >= words.size())
        __testlib_fail("Opts: index '" + std::to_string(index) + "' is out of range [0," +
                       std::to_string(words.size()) + ")");
    T value;
    testlib_detail::convert(words[std::size_t(index)], value);
    return value;
}

template <typename T> T opt(const std::string &key, const T &default_value)
{
    if (!has_opt(key))
        return default_value;
    T value;
    testlib_detail::convert(testlib_detail::session().opts[key], value);
    return value;
}

template <typename T> T opt(const std::string &key)
{
    if (!has_opt(key) && !std::is_same<T, bool>::value) // a flag that isn't there is off
        __testlib_fail("Opts: unknown key '" + compress(key) + "'");
    return opt<T>(key, T());
}

inline std::string opt(int index) { return opt<std::string>(index); }
inline std::string opt(const std::string &key) { return opt<std::string>(key); }
inline std::string opt(const std::string &key, const std::string &default_value)
{
    return opt<std::string>(key, default_value);
}

/// A list, such as -sizes 1,2,3.
template <typename T> std::vector<T> opts(const std::string &key, char separator = ',')
{
    std::vector<T> result;
    for (const std::string &part : tokenize(opt(key), separator)) {
        T value;
        testlib_detail::convert(part, value);
        result.push_back(value);
    }
    return result;
}

inline void suppressEnsureNoUnusedOpts()
{
    testlib_detail::session().wants_all_opts_used = false;
}
inline void ensureNoUnusedOpts()
{
    for (const auto &each : testlib_detail::session().opts) {
        if (!testlib_detail::session().opts_used.count(each.first))
            __testlib_fail("Opts: unused key '" + compress(each.first) + "'");
    }
}

/// What is printed from now on is the test of this number.
inline void startTest(int test)
{
    if (std::freopen(std::to_string(test).c_str(), "w", stdout) == nullptr)
        __testlib_fail("Unable to write file '" + std::to_string(test) + "'");
}

// ---- printing ----

namespace testlib_detail
{
template <typename T> struct is_iterator {
    template <typename U>
    static char test(typename std::iterator_traits<U>::iterator_category *);
    template <typename U> static long test(...);
    static const bool value =
        sizeof(test<T>(nullptr)) == 1 && !std::is_convertible<T, const char *>::value;
};

template <typename T> struct is_list {
    template <typename U> static char test(typename U::const_iterator *);
    template <typename U> static long test(...);
    static const bool value =
        sizeof(test<T>(nullptr)) == 1 && !std::is_convertible<T, std::string>::value;
};

template <typename T>
typename std::enable_if<!is_list<T>::value>::type print_one(const T &value)
{
    std::cout << value;
}
template <typename T> typename std::enable_if<is_list<T>::value>::type print_one(const T &list)
{
    bool first = true;
    for (const auto &each : list) {
        if (!first)
            std::cout << ' ';
        first = false;
        print_one(each);
    }
}
} // namespace testlib_detail

inline void println() { std::cout << "\n"; }

template <typename T> void println(const T &value)
{
    testlib_detail::print_one(value);
    std::cout << "\n";
}

template <typename T>
typename std::enable_if<testlib_detail::is_iterator<T>::value>::type println(const T &begin,
                                                                             const T &end)
{
    std::cout << join(begin, end, ' ') << "\n";
}

template <typename A, typename B>
typename std::enable_if<!(std::is_same<A, B>::value &&
                          testlib_detail::is_iterator<A>::value)>::type
println(const A &a, const B &b)
{
    testlib_detail::print_one(a);
    std::cout << ' ';
    println(b);
}

template <typename A, typename B, typename C, typename... Rest>
void println(const A &a, const B &b, const C &c, const Rest &...rest)
{
    testlib_detail::print_one(a);
    std::cout << ' ';
    println(b, c, rest...);
}

#endif
