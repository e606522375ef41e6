let () =
  let all = ref [] in
  while true do
    all := Array.make 1000 1 :: !all
  done
