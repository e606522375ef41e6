/* @EXPECTED_RESULTS@: COMPILER-ERROR
   More than ten megabytes of them. */
#define A int x; char x;
#define B A A A A A A A A A A
#define C B B B B B B B B B B
#define D C C C C C C C C C C
#define E D D D D D D D D D D

E

int main(void) { return 0; }
