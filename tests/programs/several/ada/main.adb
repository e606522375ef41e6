with Ada.Integer_Text_IO;
with Ada.Text_IO;
with Adder;

procedure Main is
begin
   Ada.Integer_Text_IO.Put (Adder (40, 2), Width => 1);
   Ada.Text_IO.New_Line;
end Main;
