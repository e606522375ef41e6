/*
 * Scoreboard of a contest.
 */
#include <bits/stdc++.h>
using namespace std;

struct Crew {
    string title;
    long points;
    long lost;
};

/* writes everything to the standard output */
void show(const vector<Crew>& list)
{
    int place = 0;
    size_t k = 0;
    while (k < list.size())
    {
        if (k == 0 || list[k].points != list[k - 1].points || list[k].lost != list[k - 1].lost)
        {
            place = k + 1;
        }
        cout << place << ' ' << list[k].title << ' ' << list[k].points << ' ' << list[k].lost << '\n';
        ++k;
    }
}

long clock_value(const string& s)
{
    long value = 0;
    size_t where = s.find(':');
    value = stoi(s.substr(0, where)) * 60 + stoi(s.substr(where + 1));
    return value;
}

bool first_of(const Crew& p, const Crew& q)
{
    if (p.points != q.points) return p.points > q.points;
    if (p.lost != q.lost) return p.lost < q.lost;
    return p.title < q.title;
}

void solved(map<string, map<char, int>>& misses, vector<Crew>& list, const string& who, char letter, long at)
{
    size_t k = 0;
    while (k < list.size())
    {
        if (list[k].title == who)
        {
            list[k].points += 1;
            list[k].lost += at + 20 * misses[who][letter];
        }
        k++;
    }
    misses[who][letter] = -1; // done
}

int main()
{
    int crews, lines;
    cin >> crews >> lines;
    vector<Crew> list(crews);
    int k = 0;
    while (k < crews)
    {
        cin >> list[k].title;
        list[k].points = 0;
        list[k].lost = 0;
        k++;
    }
    map<string, map<char, int>> misses;
    while (lines-- > 0)
    {
        string at, who, result;
        char letter;
        cin >> at >> who >> letter >> result;
        if (misses[who][letter] < 0) continue;
        if (result == "accepted")
        {
            solved(misses, list, who, letter, clock_value(at));
        }
        else
        {
            misses[who][letter]++;
        }
    }
    sort(list.begin(), list.end(), first_of);
    show(list);
}
