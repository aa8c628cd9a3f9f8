# Installs Vector on Windows: downloads a release, verifies its checksum, and puts the binary into a folder of yours.
#
#   powershell -c "irm @RELEASES@/latest/download/install.ps1 | iex"
#
# $env:VECTOR_VERSION = '0.2.0'     that version instead of the newest
# $env:VECTOR_INSTALL = 'FOLDER'    that folder instead of %LOCALAPPDATA%\Programs\Vector
# $env:VECTOR_RELEASES = 'ADDRESS'  releases somewhere else
#
# To remove it: vector uninstall

& {
    $ErrorActionPreference = 'Stop'
    # The progress bar of PowerShell 5 makes downloads many times slower.
    $ProgressPreference = 'SilentlyContinue'

    # The processor of the machine, not the one that this PowerShell was built for.
    $processor = if ($env:PROCESSOR_ARCHITEW6432) { $env:PROCESSOR_ARCHITEW6432 } else { $env:PROCESSOR_ARCHITECTURE }
    $cpu = switch ($processor) {
        'AMD64' { 'x86_64' }
        'ARM64' { 'aarch64' }
        default { throw "There is no release for the processor $processor." }
    }
    $releases = if ($env:VECTOR_RELEASES) { $env:VECTOR_RELEASES } else { '@RELEASES@' }
    $folder = if ($env:VECTOR_INSTALL) { $env:VECTOR_INSTALL } else { Join-Path $env:LOCALAPPDATA 'Programs\Vector' }
    $from = if ($env:VECTOR_VERSION) { "$releases/download/v$($env:VECTOR_VERSION.TrimStart('v'))" } else { "$releases/latest/download" }

    $work = Join-Path ([IO.Path]::GetTempPath()) "vector-$([Guid]::NewGuid())"
    New-Item -ItemType Directory $work | Out-Null
    try {
        $sums = Join-Path $work 'SHA256SUMS'
        Invoke-WebRequest "$from/SHA256SUMS" -OutFile $sums -UseBasicParsing
        $line = @(Get-Content $sums | Where-Object { $_ -match "^[0-9a-f]{64} [ *]vector-[0-9A-Za-z.+-]+-windows-$cpu\.zip$" })
        if ($line.Count -ne 1) { throw "The release at $from has no archive for windows-$cpu." }
        $sum, $name = $line[0] -split ' [ *]', 2
        $archive = Join-Path $work $name
        Invoke-WebRequest "$from/$name" -OutFile $archive -UseBasicParsing
        $found = (Get-FileHash $archive -Algorithm SHA256).Hash.ToLower()
        if ($found -ne $sum) { throw "$from/$name has the checksum $found, and SHA256SUMS says $sum. Nothing was installed." }
        $unpacked = Join-Path $work 'unpacked'
        Expand-Archive $archive $unpacked
        $new = Join-Path $unpacked 'vector.exe'
        $version = (& $new --version).Split(' ')[1]

        New-Item -ItemType Directory $folder -Force | Out-Null
        $binary = Join-Path $folder 'vector.exe'
        # A program that runs cannot be replaced, but it can be renamed.
        $old = Join-Path $folder 'vector-old.exe'
        if (Test-Path $old) { Remove-Item $old -ErrorAction SilentlyContinue }
        if (Test-Path $binary) { Move-Item $binary $old -Force }
        try { Copy-Item $new $binary } catch { if (Test-Path $old) { Move-Item $old $binary }; throw }
        if (Test-Path $old) { Remove-Item $old -ErrorAction SilentlyContinue }

        $path = [Environment]::GetEnvironmentVariable('Path', 'User')
        if (($path -split ';') -notcontains $folder) {
            [Environment]::SetEnvironmentVariable('Path', (@($path, $folder) | Where-Object { $_ }) -join ';', 'User')
            $env:Path = "$env:Path;$folder"
            Write-Host "Added $folder to your PATH, for consoles that are opened from now on."
        }
        Write-Host "Installed Vector $version as $binary"
        Write-Host 'Next: vector setup'
    }
    finally {
        Remove-Item $work -Recurse -Force -ErrorAction SilentlyContinue
    }
}
