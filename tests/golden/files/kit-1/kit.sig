{
  "files": {
    "README.md": "0f5bb74faea13b8f6be8ee4a9f23dd75cccdf56b5be2046e34b3ad9d11b31bff",
    "ca.crt": "38f339bce4cdb76bccb0bbab9569463dcb2e4e3139ca20381077630042a09ce3",
    "compose.yml": "ea9c522ce20da5104ec956d3b4fa81ce5ca642159ef3b4e621066d6146738d45",
    "crl.pem": "afb8dfb7a24c197ff4ab2698b0bfa0ed983d92547a9cbfd5899de16989914133",
    "site.toml": "707ca71f68bfbb5e1707b016cd85db0c16aaebcbf549e23b4419ccfcbc85f299"
  },
  "number": 1,
  "made_unix_s": 1900000000,
  "signature": "3046022100bbde0b81095316eeade4f2418804b4dbd836b88f4bd3be53139b226975050bf9022100bc86907ce1ecfc24fc16b1115028285ebdcd27eee540a0115c0081ceda30bb01"
}
