/* For tests: holds a file open, as an editor may that shares it with readers alone, until its input ends. */

#include <stdio.h>
#include <windows.h>

int wmain(int count, wchar_t **arguments) {
    if (count != 2)
        return 2;
    HANDLE file = CreateFileW(arguments[1], GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return 1;
    puts("held");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    CloseHandle(file);
    return 0;
}
