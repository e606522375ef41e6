program giant;

var
  part: pointer;

begin
  getmem(part, int64(1) shl 40);
  fillchar(part^, 65536, 1);
end.
