main :- twice(20, Twice), add(Twice, 2, Sum), format("~w~n", [Sum]).
