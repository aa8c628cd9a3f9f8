/* For tests under Wine alone: the DLL that Rust's standard library asks for random numbers, which Wine 8 lacks.
 *
 * When it is loaded, before the program's own code runs, it also sets the environment variables that Wine takes from its
 * registry: those that the tests pass with `VECTOR_WINE_` before the name. */

#include <wchar.h>
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
    return SystemFunction036(bytes, (ULONG)count);
}

static void set_variables(void) {
    static const WCHAR prefix[] = L"VECTOR_WINE_";
    const size_t length = wcslen(prefix);
    WCHAR *all = GetEnvironmentStringsW();
    for (WCHAR *entry = all; entry && *entry; entry += wcslen(entry) + 1) {
        WCHAR *value = wcschr(entry, L'=');
        if (wcsncmp(entry, prefix, length) != 0 || !value)
            continue;
        *value = 0;
        SetEnvironmentVariableW(entry + length, value + 1);
        SetEnvironmentVariableW(entry, NULL);
        *value = L'=';
    }
    FreeEnvironmentStringsW(all);
}

BOOL WINAPI DllMain(HINSTANCE dll, DWORD reason, LPVOID reserved) {
    (void)dll;
    (void)reserved;
    if (reason == DLL_PROCESS_ATTACH)
        set_variables();
    return TRUE;
}
