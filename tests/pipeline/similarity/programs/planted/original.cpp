#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>
using namespace std;

struct Team {
    string name;
    int solved;
    int penalty;
};

// Orders teams as a scoreboard does.
bool better(const Team& a, const Team& b) {
    if (a.solved != b.solved) return a.solved > b.solved;
    if (a.penalty != b.penalty) return a.penalty < b.penalty;
    return a.name < b.name;
}

int parse_time(const string& text) {
    int minutes = 0;
    size_t colon = text.find(':');
    minutes = stoi(text.substr(0, colon)) * 60 + stoi(text.substr(colon + 1));
    return minutes;
}

void award(map<string, map<char, int>>& wrong, vector<Team>& teams, const string& name, char task, int minutes) {
    for (size_t i = 0; i < teams.size(); i++) {
        if (teams[i].name == name) {
            teams[i].solved += 1;
            teams[i].penalty += minutes + 20 * wrong[name][task];
        }
    }
    wrong[name][task] = -1;
}

void print_board(const vector<Team>& teams) {
    int rank = 0;
    for (size_t i = 0; i < teams.size(); i++) {
        if (i == 0 || teams[i].solved != teams[i - 1].solved || teams[i].penalty != teams[i - 1].penalty) {
            rank = i + 1;
        }
        cout << rank << ' ' << teams[i].name << ' ' << teams[i].solved << ' ' << teams[i].penalty << '\n';
    }
}

int main() {
    int n, events;
    cin >> n >> events;
    vector<Team> teams(n);
    for (int i = 0; i < n; i++) {
        cin >> teams[i].name;
        teams[i].solved = 0;
        teams[i].penalty = 0;
    }
    map<string, map<char, int>> wrong;
    for (int i = 0; i < events; i++) {
        string time, name, verdict;
        char task;
        cin >> time >> name >> task >> verdict;
        if (wrong[name][task] < 0) continue;
        if (verdict == "accepted") {
            award(wrong, teams, name, task, parse_time(time));
        } else {
            wrong[name][task]++;
        }
    }
    sort(teams.begin(), teams.end(), better);
    print_board(teams);
}
