let () = Scanf.scanf " %d %d" (fun _ x -> Printf.printf "%d\n" (-x))
