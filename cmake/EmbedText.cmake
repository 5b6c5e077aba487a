# cmake -DIN=text -DOUT=file.inc -P EmbedText.cmake: the text as a C++ string literal.
file(READ "${IN}" text)
file(WRITE "${OUT}" "R\"embedded(${text})embedded\"\n")
