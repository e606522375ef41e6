program Unlucky;
begin
  writeln(6);
  halt(5);
end.
