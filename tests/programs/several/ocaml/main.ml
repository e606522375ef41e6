let () = Printf.printf "%d\n" (Alpha.twice 21)
