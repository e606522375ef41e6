let () =
  let n = Scanf.scanf " %d" (fun x -> x) in
  let memory = Array.init n (fun i -> Bytes.make (1 lsl 20) (Char.chr (i land 127))) in
  Printf.printf "%d\n" (Array.length memory)
