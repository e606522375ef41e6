#include <iostream>

int main() {
    int low = 1, high = 100;
    for (std::string answer; answer != "=";) {
        int guess = (low + high) / 2;
        std::cout << "? " << guess << std::endl;
        if (!(std::cin >> answer)) return 1;
        if (answer == "<") high = guess - 1;
        if (answer == ">") low = guess + 1;
    }
}
