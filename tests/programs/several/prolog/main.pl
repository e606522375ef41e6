:- consult(adder).

main :- add(40, 2, Sum), format("~w~n", [Sum]).
