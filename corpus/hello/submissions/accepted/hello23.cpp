#include <iostream>
#include <string>

int main() {
    static_assert(__cplusplus > 202002L);
    std::string text = "Hello, World!";
    if (text.contains("World")) std::cout << text << std::endl;
}
