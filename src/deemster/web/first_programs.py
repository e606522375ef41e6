"""Programs that read two numbers and write their sum, as examples for beginners."""

from collections.abc import Mapping
from typing import Final

INPUT: Final = "3 4\n"
OUTPUT: Final = "7\n"
BY_LANGUAGE: Final[Mapping[str, str]] = {
    "python3": """\
a, b = map(int, input().split())
print(a + b)
""",
    "cpp": """\
#include <iostream>

int main() {
    long long a, b;
    std::cin >> a >> b;
    std::cout << a + b << "\\n";
}
""",
    "c": """\
#include <stdio.h>

int main(void) {
    long long a, b;
    scanf("%lld %lld", &a, &b);
    printf("%lld\\n", a + b);
    return 0;
}
""",
    "java": """\
import java.util.Scanner;

public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        System.out.println(in.nextLong() + in.nextLong());
    }
}
""",
    "javascript": """\
const [a, b] = require("fs").readFileSync(0, "utf8").split(/\\s+/).map(Number);
console.log(a + b);
""",
}
SAME: Final[Mapping[str, str]] = {"cpp17": "cpp", "cpp23": "cpp", "pypy3": "python3"}
"""Languages in which the program of another language is the same."""
FIRST_PROGRAMS: Final[Mapping[str, str]] = {
    **BY_LANGUAGE,
    **{language: BY_LANGUAGE[other] for language, other in SAME.items()},
}
