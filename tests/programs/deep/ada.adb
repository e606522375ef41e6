with Ada.Text_IO;

procedure Main is
   function Depth (N : Integer) return Integer is
     (if N = 0 then 0 else 1 + Depth (N - 1));
begin
   Ada.Text_IO.Put_Line (Integer'Image (Depth (1_000_000)) (2 .. 8));
end Main;
