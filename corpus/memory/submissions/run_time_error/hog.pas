program Hog;
var
  n, i: integer;
  piece: pointer;
begin
  readln(n);
  for i := 1 to n do
  begin
    getmem(piece, 1 shl 20);
    fillchar(piece^, 1 shl 20, 1);
  end;
  writeln(n);
end.
