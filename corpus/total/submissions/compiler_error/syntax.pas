{ @EXPECTED_RESULTS@: COMPILER-ERROR }
program Syntax;
begin
  writeln(6
end.
