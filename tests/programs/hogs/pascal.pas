program hog;

var
  part: pointer;

begin
  while true do
  begin
    getmem(part, 65536);
    fillchar(part^, 65536, 1);
  end;
end.
