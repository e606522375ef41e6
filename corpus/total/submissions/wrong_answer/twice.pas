program Twice;
var
  n: integer;
begin
  readln(n);
  writeln(2 * n + 1);
end.
