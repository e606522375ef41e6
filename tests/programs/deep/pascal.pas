program deep;

function depth(n: longint): longint;
begin
  if n = 0 then
    depth := 0
  else
    depth := 1 + depth(n - 1);
end;

begin
  writeln(depth(1000000));
end.
