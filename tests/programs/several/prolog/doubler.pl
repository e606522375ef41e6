twice(A, Twice) :- Twice is A + A.
