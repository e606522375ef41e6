function Adder (A, B : Integer) return Integer is
begin
   return A + B;
end Adder;
