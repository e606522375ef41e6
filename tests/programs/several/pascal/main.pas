program main;

uses adder;

begin
  writeln(add(40, 2));
end.
