procedure Range_Error is
   type Small is range 1 .. 3;
   X : Small := 3;
begin
   X := X + X;
   if X = 1 then
      null;
   end if;
end Range_Error;
