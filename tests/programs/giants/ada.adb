with Ada.Text_IO;

procedure Main is
   type Index is range 0 .. 2 ** 40;
   type Block is array (Index range <>) of Long_Long_Integer;
   type Link is access Block;
   Added : Link := new Block (0 .. 2 ** 40);
begin
   Added (7) := 1;
   Ada.Text_IO.Put_Line ("done");
end Main;
