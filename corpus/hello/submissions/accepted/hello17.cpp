// submissions.yaml says which standard this is.
#include <iostream>

int main() {
    static_assert(__cplusplus < 202000L);
    std::cout << "Hello, World!" << std::endl;
}
