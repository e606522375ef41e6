procedure Main is
   type Block is array (1 .. 16384) of Integer;
   type Link is access Block;
   Added : Link;
begin
   loop
      Added := new Block'(others => 1);
   end loop;
end Main;
