(* @EXPECTED_RESULTS@: COMPILER-ERROR *)
let () = print_endline 6
